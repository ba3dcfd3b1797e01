// random.mjs: random expressions and templates from a seed: mostly such as mean something, and now and then not.

export class Random {
    constructor(seed) {
        this.state = seed >>> 0;
    }
    below(n) { // a xorshift of 32 bits
        let x = this.state || 1;
        x ^= x << 13;
        x ^= x >>> 17;
        x ^= x << 5;
        this.state = x >>> 0;
        return this.state % n;
    }
    of(items) {
        return items[this.below(items.length)];
    }
    chance(percent) {
        return this.below(100) < percent;
    }
}

// Each makes an expression of its kind from those of others, which are one level less deep.
const makers = {
    number: [
        (r) => String(r.below(20)),
        (r) => r.of(["n", "zero", "minus", "f", "tiny", "list[1]", "map.a", "rows[0].v", "floats[1]", "list.length"]),
        (r) => `${r.below(50)}.${r.below(1000)}`,
        (r, e) => `${e("number")} ${r.of(["+", "-", "*", "+", "-", "*", "/", "//", "%"])} ${e("number")}`,
        (r, e) => `(${e("number")} ${r.of(["+", "-", "*"])} ${e("number")})`,
        (r, e) => `-${r.chance(50) ? " " : ""}${e("atom")}`,
        (r, e) => `(${e("number")}) | ${r.of(["abs", "int", "float"])}`,
        (r, e) => `(${e("list")}) | length`,
        (r, e) => `(${e("text")}) | ${r.of(["length", "int", "float", "int(3)", "float(default=0.5)"])}`,
        (r, e) => `${e("number")} if ${e("truth")} else ${e("number")}`,
        (r) => `${r.below(6)} ** ${r.below(5)}`,
    ],
    atom: [(r) => String(r.below(30)), (r) => r.of(["n", "f", "minus", "list[0]", "list[-1]"]), (r, e) => `(${e("number")})`],
    text: [
        (r) => r.of(["'a'", '"bc"', "'x y'", "''", "'\\n'", "'A,B'", "'-12 z'", "s", "words", "map.b", "names[0]", "wide"]),
        (r, e) => `${e("text")} ~ ${e("any")}`,
        (r, e) => `(${e("text")} + ${e("text")})`,
        (r, e) => `(${e("text")}) | ${r.of(["trim", "capitalize", "title", "string", "indent(1)", "replace('a', 'b')", "replace(' ', '')", "join('.')", "tojson"])}`,
        (r, e) => `(${e("text")})[${r.of(["0", "-1", "1:", ":2", "::-1", "1:3", "::2"])}]`,
        (r, e) => `(${e("list")}) | ${r.of(["join", "join(',')", "string", "tojson"])}`,
        (r, e) => `(${e("text")}).${r.of(["strip()", "lstrip()", "rstrip()", "title()", "replace('b', 'cc')"])}`,
        (r, e) => `(${e("number")}) | string`,
        (r, e) => `${e("text")} if ${e("truth")} else ${e("text")}`,
    ],
    list: [
        (r) => r.of(["list", "names", "none_list", "floats", "mixed[:6]", "range(4)", "range(1, 6, 2)", "map.c"]),
        (r, e) => `[${e("any")}, ${e("any")}]`,
        (r, e) => `(${e("list")} + ${e("list")})`,
        (r, e) => `(${e("list")})[${r.of(["1:", ":-1", "::-1", "::2", "-2:", "2:0:-1"])}]`,
        (r, e) => `(${e("list")}) | ${r.of(["reverse", "unique", "list"])}`,
        (r, e) => `(${e("text")}).split(${r.of(["", "' '", "','", "none, 1"])})`,
        (r) => r.of(["list", "floats", "names"]) + " | sort",
        (r) => "map | " + r.of(["items", "keys", "values"]),
    ],
    truth: [
        (r) => r.of(["t", "no", "true", "false"]),
        (r, e) => `${e("number")} ${r.of(["<", "<=", ">", ">=", "==", "!="])} ${e("number")}`,
        (r, e) => `${e("text")} ${r.of(["==", "!=", "in", "not in"])} ${e("text")}`,
        (r, e) => `${e("atom")} ${r.of(["in", "not in"])} (${e("list")})`,
        (r, e) => `${e("truth")} ${r.of(["and", "or"])} ${e("truth")}`,
        (r, e) => `not ${e("truth")}`,
        (r, e) => `${e("any")} is ${r.of(["", "not "])}${r.of(["defined", "none", "string", "number", "integer", "boolean", "mapping", "iterable", "sequence", "true"])}`,
        (r, e) => `'${r.of(["a", "b", "zz"])}' in map`,
    ],
    any: [
        (r, e) => e(r.of(["number", "text", "list", "truth"])),
        (r, e) => e(r.of(["number", "text"])),
        (r) => r.of(["none", "missing", "map", "{'k': 1, 'l': [2.0]}", "mixed[6]", "t"]),
    ],
};

export function expression(random, kind, depth) {
    const choices = makers[kind];
    if (depth <= 0) {
        return random.of({ number: ["3", "n", "f", "0.25"], atom: ["4", "n"], text: ["'q'", "s"], list: ["list", "[]"], truth: ["t", "no"], any: ["n", "s", "none"] }[kind]);
    }
    return random.of(choices)(random, (inner) => expression(random, inner, depth - 1));
}

const gaps = ["", " ", "\n", "  \n", "\n  ", "a", " b ", "c\n", "\n\n", ";", "- ", "\t"];

function tag(random, text) {
    return `{%${random.of(["", "", "", "-"])} ${text} ${random.of(["", "", "", "-"])}%}`;
}

function part(random, depth) {
    const body = () => template(random, depth - 1);
    const value = (kind) => expression(random, kind, 2);
    switch (depth <= 0 ? 0 : random.below(9)) {
    case 1:
        return tag(random, `if ${value("truth")}`) + body() + tag(random, "endif");
    case 2:
        return tag(random, `if ${value("truth")}`) + body() + tag(random, `elif ${value("any")}`) + body() + tag(random, "else") + body() + tag(random, "endif");
    case 3:
        return tag(random, `for i in ${value("list")}`) + `{{ loop.${random.of(["index", "index0", "first", "last", "revindex", "previtem"])} }}` + body() + tag(random, "endfor");
    case 4:
        return tag(random, `for i in ${random.of(["list", "none_list", "range(5)"])} if i ${random.of(["> 1", "is odd", "in [1, 3]"])}`) + "{{ i }}" + body() + tag(random, "else") + body() + tag(random, "endfor");
    case 5:
        return tag(random, `set v = ${value("any")}`) + body() + "{{ v }}";
    case 6:
        return tag(random, `macro m(a, b=${value("number")})`) + "{{ a }}{{ b }}" + body() + tag(random, "endmacro") + `{{ m(${value("text")}) }}`;
    case 7:
        return `{#${random.of(["", "-"])} ${random.of(["note", "{{ n }}", "%}"])} ${random.of(["", "-"])}#}`;
    case 8:
        return tag(random, `for k, w in ${random.of(["map.items()", "pairs", "map | items"])}`) + "{{ k }}" + body() + tag(random, "endfor");
    default:
        return `{{${random.of(["", "", "-"])} ${value(random.of(["number", "text", "any", "list"]))} ${random.of(["", "", "-"])}}}`;
    }
}

export function template(random, depth) {
    let text = random.of(gaps);
    for (let i = random.below(3) + 1; i > 0; i--) {
        text += part(random, depth) + random.of(gaps);
    }
    return text;
}

// Something taken out or doubled: most of it is no template any more.
export function spoil(random, text) {
    const at = random.below(text.length), size = random.below(3) + 1;
    return random.chance(60) ? text.slice(0, at) + text.slice(at + size) : text.slice(0, at) + text.slice(at, at + size).repeat(2) + text.slice(at + size);
}
