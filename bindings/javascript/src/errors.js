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
