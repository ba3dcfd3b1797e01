// errors.js: what can go wrong, by name. The message is a sentence; `code` says it to a program.

/** The base of all errors of this package. */
export class RmsnormError extends Error {
    /**
     * @param {string} message
     * @param {{code?: string, cause?: unknown}} [options]
     */
    constructor(message, { code, cause } = {}) {
        super(message, cause === undefined ? undefined : { cause });
        this.name = new.target.name;
        /** @type {string} */
        this.code = code ?? new.target.code;
    }

    static code = "RMSNORM";
}

/** A kernel package that cannot be used: malformed, or of an unknown spec. */
export class PackageError extends RmsnormError {
    static code = "PACKAGE";
}

/** A file whose sha256 is not the one in metadata.json. */
export class DigestError extends PackageError {
    static code = "DIGEST";
}

/** A file that could not be fetched. */
export class NetworkError extends RmsnormError {
    static code = "NETWORK";
}

/** A request that the contract refuses. */
export class RequestError extends RmsnormError {
    static code = "REQUEST";
}

/** No device, or one that reported an error. */
export class DeviceError extends RmsnormError {
    static code = "DEVICE";
}

/** The device is gone; so are all its tensors. */
export class DeviceLostError extends DeviceError {
    static code = "DEVICE_LOST";
}

/**
 * The border of the package: what leaves it is an error of ours, or one of the caller's own.
 * @template T
 * @param {string} what begins the sentence about any other
 * @param {() => T} action
 * @param {(error: unknown) => boolean} [isCallers]
 * @returns {T}
 */
export function guard(what, action, isCallers = () => false) {
    const fail = (error) => {
        if (error instanceof RmsnormError || isCallers(error)) {
            throw error;
        }
        const why = error instanceof Error ? error.message : "something was thrown that is no Error";
        throw new RmsnormError(`${what}: ${why}`, { cause: error });
    };
    try {
        const result = action();
        return result instanceof Promise ? /** @type {T} */ (result.catch(fail)) : result;
    } catch (error) {
        return fail(error);
    }
}

/** An aborted call rejects with the reason, whatever that is. @param {AbortSignal | undefined} signal */
export const abortedBy = (signal) => (error) => signal?.aborted === true && error === signal.reason;
