// model.js: an ONNX model of one node, in the bytes of its protobuf.
const utf8 = new TextEncoder();

function varint(value) {
    const bytes = [];
    for (let rest = value; ; rest = Math.floor(rest / 128)) {
        bytes.push(rest >= 128 ? (rest % 128) + 128 : rest);
        if (rest < 128) {
            return bytes;
        }
    }
}

const number = (field, value) => [...varint(field * 8), ...varint(value)];
const bytes = (field, list) => [...varint(field * 8 + 2), ...varint(list.length), ...list];
const text = (field, string) => bytes(field, [...utf8.encode(string)]);

/** ValueInfoProto of a tensor of float32 whose dims have names. */
function value(name, dims) {
    const shape = dims.flatMap((dim) => bytes(1, text(2, dim)));
    return [...text(1, name), ...bytes(2, bytes(1, [...number(1, 1), ...bytes(2, shape)]))];
}

/**
 * @param {string} domain
 * @param {string} operator
 * @param {Record<string, string[]>} inputs names of dims by name
 * @param {Record<string, string[]>} outputs
 */
export function oneNode(domain, operator, inputs, outputs) {
    const node = [
        ...Object.keys(inputs).flatMap((name) => text(1, name)),
        ...Object.keys(outputs).flatMap((name) => text(2, name)),
        ...text(4, operator),
        ...text(7, domain),
    ];
    const graph = [
        ...bytes(1, node),
        ...text(2, operator),
        ...Object.entries(inputs).flatMap(([name, dims]) => bytes(11, value(name, dims))),
        ...Object.entries(outputs).flatMap(([name, dims]) => bytes(12, value(name, dims))),
    ];
    const opset = (name, version) => bytes(8, [...text(1, name), ...number(2, version)]);
    return Uint8Array.from([...number(1, 8), ...bytes(7, graph), ...opset("", 17), ...opset("com.microsoft", 1)]);
}
