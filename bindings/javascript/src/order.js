// order.js: which calls wait for which. One that writes a buffer comes after all that used it before, one that reads it after those
// that write it. Calls that share no such buffer know nothing of each other: none can keep another waiting.

export class Order {
    /** @type {WeakMap<GPUBuffer, {written: Promise<unknown>, used: Promise<unknown>}>} settled: those calls were submitted */
    #last = new WeakMap();

    /** @param {GPUBuffer} buffer */
    #lastOf(buffer) {
        let last = this.#last.get(buffer);
        if (!last) {
            last = { written: Promise.resolve(), used: Promise.resolve() };
            this.#last.set(buffer, last);
        }
        return last;
    }

    /**
     * A call takes its place.
     * @param {GPUBuffer[]} reads
     * @param {GPUBuffer[]} writes
     * @returns {{before: Promise<unknown>, leave: () => void}} before: its turn; leave: it is submitted, or never will be
     */
    enter(reads, writes) {
        const before = [];
        let leave;
        const left = new Promise((resolve) => {
            leave = resolve;
        });
        const written = new Set(writes);
        for (const buffer of new Set(reads.filter((read) => !written.has(read)))) {
            const last = this.#lastOf(buffer);
            before.push(last.written);
            last.used = Promise.all([last.used, left]);
        }
        for (const buffer of written) {
            const last = this.#lastOf(buffer);
            before.push(last.used);
            last.written = last.used = Promise.all([last.used, left]);
        }
        return { before: Promise.all(before), leave };
    }

    /** @param {GPUBuffer} buffer @returns {Promise<unknown>} when nothing that entered needs it any more */
    free(buffer) {
        return this.#lastOf(buffer).used;
    }
}
