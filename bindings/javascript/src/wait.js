// wait.js: waiting for what somebody else promised.

/**
 * A promise that may never be kept: the signal ends the wait, and so does whoever calls one of `ends`. (Promise.race would hold on to
 * the call for as long as the signal lives.)
 * @template T
 * @param {Promise<T>} promise
 * @param {AbortSignal} [signal] rejects with its reason
 * @param {Set<(error: unknown) => void>} [ends] has a function in it while this waits, which rejects
 * @returns {Promise<T>}
 */
export function waitFor(promise, signal, ends) {
    return new Promise((resolve, reject) => {
        const over = () => {
            ends?.delete(fail);
            signal?.removeEventListener("abort", abort);
        };
        const fail = (error) => {
            over();
            reject(error);
        };
        const abort = () => fail(signal.reason);
        promise.then((value) => {
            over();
            resolve(value);
        }, fail);
        ends?.add(fail);
        signal?.addEventListener("abort", abort);
        if (signal?.aborted) {
            abort();
        }
    });
}
