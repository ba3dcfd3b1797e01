// timing.js: how long a run takes on the device, and beside it a shader that copies as many bytes: the two take turns.
const COPY = `@group(0) @binding(0) var<storage, read> source: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> copy: array<vec4<u32>>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < arrayLength(&copy); i += groups.x * 256u) {
        copy[i] = source[i];
    }
}
`;
const LEAST_ROUNDS = 5;
const MOST_ROUNDS = 400;
/** Milliseconds after which it is enough. */
const ENOUGH = 1200;

const median = (list) => list.toSorted((a, b) => a - b)[list.length >> 1];
const mean = (list) => list.reduce((sum, value) => sum + value, 0) / list.length;

/** @param {GPUDevice} device @param {number} bytes read and written together */
async function openCopy(device, bytes) {
    const limit = Math.min(device.limits.maxStorageBufferBindingSize, device.limits.maxBufferSize);
    const size = Math.min(Math.max(16, Math.ceil(bytes / 32) * 16), limit - (limit % 16));
    const buffers = [0, 1].map(() => device.createBuffer({ size, usage: GPUBufferUsage.STORAGE }));
    const module = device.createShaderModule({ label: "copy", code: COPY });
    const pipeline = await device.createComputePipelineAsync({ layout: "auto", compute: { module, entryPoint: "main" } });
    const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
    const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
    const groups = Math.min(Math.ceil(size / 16 / 256), device.limits.maxComputeWorkgroupsPerDimension);
    return {
        bytes: 2 * size,
        run(timestampWrites) {
            const encoder = device.createCommandEncoder();
            const pass = encoder.beginComputePass({ timestampWrites });
            pass.setPipeline(pipeline);
            pass.setBindGroup(0, group);
            pass.dispatchWorkgroups(groups);
            pass.end();
            device.queue.submit([encoder.finish()]);
        },
        close: () => buffers.forEach((buffer) => buffer.destroy()),
    };
}

/** The device's own clock: nanoseconds of one pass each. */
function openClock(device) {
    const queries = device.createQuerySet({ type: "timestamp", count: 4 });
    const resolved = device.createBuffer({ size: 32, usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC });
    const staging = device.createBuffer({ size: 32, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
    return {
        writes: (which) => ({ querySet: queries, beginningOfPassWriteIndex: 2 * which, endOfPassWriteIndex: 2 * which + 1 }),
        async read() {
            const encoder = device.createCommandEncoder();
            encoder.resolveQuerySet(queries, 0, 4, resolved, 0);
            encoder.copyBufferToBuffer(resolved, 0, staging, 0, 32);
            device.queue.submit([encoder.finish()]);
            await staging.mapAsync(GPUMapMode.READ);
            const times = new BigUint64Array(staging.getMappedRange()).slice();
            staging.unmap();
            return [Number(times[1] - times[0]), Number(times[3] - times[2])];
        },
        close: () => [queries, resolved, staging].forEach((object) => object.destroy()),
    };
}

/** Timestamps of the device. Browsers may round them to 0.1 ms: then it is the mean that tells. */
async function byTimestamps(device, runs, goOn) {
    const clock = openClock(device);
    const times = [[], []];
    try {
        while (goOn(times[0].length)) {
            await Promise.all(runs.map((run, i) => run(clock.writes(i))));
            (await clock.read()).forEach((time, i) => times[i].push(time / 1e6));
        }
    } finally {
        clock.close();
    }
    const isRounded = times.flat().every((time) => Math.abs(time * 10 - Math.round(time * 10)) < 1e-6);
    return {
        times: times.map(isRounded ? mean : median),
        rounds: times[0].length,
        clock: isRounded ? "timestamps of the device, which the browser rounds to 0.1 ms: means" : "timestamps of the device: medians",
        tooShort: isRounded && times.some((list) => mean(list) < 0.2 / Math.sqrt(list.length)),
    };
}

/** Without them: a batch of runs until the queue is empty, long enough for the page's clock. */
async function byQueue(device, runs, goOn) {
    const time = async (run, count) => {
        const start = performance.now();
        const running = [];
        for (let i = 0; i < count; i++) {
            running.push(run());
        }
        await Promise.all(running);
        await device.queue.onSubmittedWorkDone();
        return (performance.now() - start) / count;
    };
    const counts = [];
    for (const run of runs) {
        counts.push(Math.min(64, Math.max(1, Math.ceil(20 / (await time(run, 1))))));
    }
    const times = [[], []];
    while (goOn(times[0].length)) {
        for (const [i, run] of runs.entries()) {
            times[i].push(await time(run, counts[i]));
        }
    }
    return {
        times: times.map(median),
        rounds: times[0].length,
        clock: "the page’s clock around whole runs, as this device has no timestamps: medians",
        tooShort: false,
    };
}

/**
 * @param {GPUDevice} device
 * @param {(timestampWrites?: GPUComputePassTimestampWrites) => Promise<unknown>} run
 * @param {number} bytes that it reads and writes
 * @returns {Promise<{run: number, copy: number, bytes: number, rounds: number, clock: string, tooShort: boolean}>} milliseconds
 */
export async function measure(device, run, bytes) {
    const copy = await openCopy(device, bytes);
    try {
        const runs = [run, async (timestampWrites) => copy.run(timestampWrites)];
        await Promise.all(runs.map((warm) => warm()));
        await device.queue.onSubmittedWorkDone();
        const end = performance.now() + ENOUGH;
        const goOn = (rounds) => rounds < LEAST_ROUNDS || (rounds < MOST_ROUNDS && performance.now() < end);
        const { times, ...rest } = await (device.features.has("timestamp-query") ? byTimestamps : byQueue)(device, runs, goOn);
        return { run: times[0], copy: times[1] * Math.max(1, bytes / copy.bytes), bytes, ...rest };
    } finally {
        copy.close();
    }
}
