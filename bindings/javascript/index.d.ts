/// <reference types="@webgpu/types" />

export type DType = "float32" | "float16";

/** Float16Array where it exists, else the bits in a Uint16Array. */
export type HostData = Float32Array | Uint16Array | (typeof globalThis extends { Float16Array: { prototype: infer H } } ? H : never);

/** A tensor in memory. */
export interface HostTensor {
    data: HostData;
    shape: readonly number[];
    dtype?: DType;
}

/** A tensor in a buffer of yours: its usage has STORAGE, offset is a multiple of minStorageBufferOffsetAlignment. */
export interface BufferTensor {
    buffer: GPUBuffer;
    shape: readonly number[];
    dtype: DType;
    offset?: number;
}

/** A tensor on the device, from a run or an upload. */
export class Tensor {
    private constructor();
    readonly shape: readonly number[];
    readonly dtype: DType;
    /** null once destroyed. May be longer than the tensor. Not to be destroyed by itself: destroy() does that. */
    readonly buffer: GPUBuffer | null;
    readonly offset: number;
    /** The elements, after the calls that were made before. */
    download(): Promise<HostData>;
    /** Gives the memory away; calls that were made before are not disturbed. */
    destroy(): void;
}

export type Input = HostTensor | BufferTensor | Tensor;

export interface HostResult {
    data: HostData;
    shape: readonly number[];
    dtype: DType;
}

export interface RunOptions {
    /** By ONNX's names, e.g. { epsilon: 1e-6 }; the operator's defaults for what is left out. */
    attrs?: Record<string, number>;
    /** Where results go: "cpu" when left out. */
    output?: "cpu" | "gpu";
    /** Bind keys of optional outputs that are wanted, too. */
    outputs?: readonly string[];
    /** Tensors of the device that outputs are written into; one may be exactly an input. */
    into?: Record<string, Tensor | BufferTensor>;
    tunables?: Record<string, number>;
    /** Only this variant of the package. */
    variant?: string;
    /** A row's bits do not depend on how many rows there are. */
    batchInvariant?: boolean;
    /** An aborted call rejects with the signal's reason. */
    signal?: AbortSignal;
    /** Of the one compute pass of the call, on a device of yours with the feature timestamp-query: what it takes there. */
    timestampWrites?: GPUComputePassTimestampWrites;
}

export interface Slot {
    key: string;
    onnx: string;
    type: string;
    optional: boolean;
}

export interface Contract {
    name: string;
    id: string;
    version: number;
    spec: string;
    domain: string;
    operator: string;
    sinceVersion: number;
    /** false: of a spec whose variants are not understood; running it is refused. */
    plans: boolean;
    inputs: Slot[];
    outputs: Slot[];
}

export interface Binding {
    binding: number;
    name: string;
    kind: "input" | "output" | "scratch";
    /** A bind key, or the index of a scratch buffer. */
    slot: string | number;
    writes: boolean;
    offset: number;
    size: number;
}

export interface Plan {
    variant: string;
    outputs: Record<string, { dtype: DType; shape: number[] }>;
    shaders: { label: string; wgsl: string }[];
    passes: { shader: number; workgroups: number[]; uniformBinding: number; uniforms: number[]; bindings: Binding[] }[];
    scratch: number[];
    peakMemory: number;
}

export interface Kernel {
    (inputs: Record<string, Input>, options: RunOptions & { output: "gpu" }): Promise<Record<string, Tensor>>;
    (inputs: Record<string, Input>, options?: RunOptions & { output?: "cpu"; into?: undefined }): Promise<Record<string, HostResult>>;
    (inputs: Record<string, Input>, options?: RunOptions): Promise<Record<string, HostResult | Tensor>>;
    readonly contract: Contract;
    /** undefined for a package that cannot be run. */
    readonly device: GPUDevice | undefined;
    /** What such a call runs: variant, shaders, dispatches. */
    plan(inputs: Record<string, Input>, options?: RunOptions): Plan;
    upload(tensor: HostTensor): Promise<Tensor>;
    /** Calls that are running finish; tensors stay. */
    dispose(): void;
}

export interface PackageCache {
    get(key: string): Promise<Uint8Array | undefined>;
    put(key: string, data: Uint8Array): Promise<void>;
}

export interface KernelOptions {
    /** Of the contract: the branch vN of the repository. This or revision is needed for a repository. */
    version?: number;
    /** A commit, 40 hexadecimal digits. */
    revision?: string;
    /** Ask the Hub also for a package that is embedded. */
    hub?: boolean;
    endpoint?: string | URL;
    token?: string;
    repositoryType?: "kernel" | "model";
    /** Browser: a name for the Cache API; Node: a folder; false: none. */
    cache?: string | false | PackageCache;
    /** The device to run on; left out: one that all kernels share. */
    device?: GPUDevice;
    /** An aborted call rejects with the signal's reason. */
    signal?: AbortSignal;
    onProgress?: (progress: { file: string; loaded: number; total: number | null }) => void;
    /** Stands in for the global one. */
    fetch?: typeof fetch;
    /** Milliseconds without a byte: 20000 when left out. */
    timeout?: number;
    /** After the first attempt: 4 when left out. */
    retries?: number;
    /** Milliseconds before the first retry, doubled for each further one: 500 when left out. */
    retryDelay?: number;
}

/**
 * @param source ORGANIZATION/NAME on the Hub, the URL of a package's folder, or (Node) a folder
 */
export function getKernel(source: string | URL, options?: KernelOptions): Promise<Kernel>;

export class RmsnormError extends Error {
    /** For a program: "INVALID_ARGUMENT", "UNSUPPORTED", "DIGEST", "DEVICE_LOST" ... */
    readonly code: string;
}
/** A kernel package that cannot be used. */
export class PackageError extends RmsnormError {}
/** A file whose sha256 is not the one in metadata.json. */
export class DigestError extends PackageError {}
/** A file that could not be fetched. */
export class NetworkError extends RmsnormError {}
/** A call that the contract refuses. */
export class RequestError extends RmsnormError {}
/** No device, or one that reported an error. */
export class DeviceError extends RmsnormError {}
/** The device is gone; so are all its tensors. */
export class DeviceLostError extends DeviceError {}
