/* webgpu.c: two layers' worth of RMS normalization with tensors that stay on the GPU. Without one it says why, and the CPU does it. */
#include <rmsnorm/webgpu.h>
#include <stdio.h>

enum { ROWS = 2, HIDDEN = 4 };

static const float hidden[ROWS][HIDDEN] = {{1, -3, 2, 4}, {3, -5, 1, 1}}, scale[HIDDEN] = {1, 2, 0.5F, 1};

static int on_the_gpu(rmsnorm_webgpu *gpu, const rmsnorm_operator *op, float y[ROWS][HIDDEN])
{
    rmsnorm_webgpu_tensor x = {.tensor = {.dtype = RMSNORM_FLOAT, .rank = 2, .dims = {ROWS, HIDDEN}}};
    rmsnorm_webgpu_tensor gamma = {.tensor = {.dtype = RMSNORM_FLOAT, .rank = 1, .dims = {HIDDEN}}};
    const rmsnorm_webgpu_tensor *const inputs[] = {&x, &gamma};
    rmsnorm_webgpu_tensor *const outputs[] = {&x}; /* in place */
    const int done =
        rmsnorm_webgpu_tensor_create(gpu, &x) == RMSNORM_OK &&
        rmsnorm_webgpu_tensor_create(gpu, &gamma) == RMSNORM_OK &&
        rmsnorm_webgpu_upload(gpu, &x, hidden) == RMSNORM_OK &&
        rmsnorm_webgpu_upload(gpu, &gamma, scale) == RMSNORM_OK &&
        rmsnorm_webgpu_run(gpu, op, NULL, inputs, 2, outputs, 1, NULL) == RMSNORM_OK &&
        rmsnorm_webgpu_run(gpu, op, NULL, inputs, 2, outputs, 1, NULL) == RMSNORM_OK && /* both in flight */
        rmsnorm_webgpu_download(gpu, &x, y) == RMSNORM_OK;
    rmsnorm_webgpu_tensor_release(gpu, &x);
    rmsnorm_webgpu_tensor_release(gpu, &gamma);
    return done;
}

static int on_the_cpu(const rmsnorm_operator *op, float y[ROWS][HIDDEN])
{
    const rmsnorm_tensor x = {.dtype = RMSNORM_FLOAT, .rank = 2, .dims = {ROWS, HIDDEN}, .data = (void *)hidden};
    const rmsnorm_tensor gamma = {.dtype = RMSNORM_FLOAT, .rank = 1, .dims = {HIDDEN}, .data = (void *)scale};
    rmsnorm_tensor result = x;
    result.data = y;
    const rmsnorm_tensor *const first[] = {&x, &gamma}, *const second[] = {&result, &gamma};
    rmsnorm_tensor *const outputs[] = {&result};
    return rmsnorm_run(op, NULL, first, 2, outputs, 1, NULL) == RMSNORM_OK &&
           rmsnorm_run(op, NULL, second, 2, outputs, 1, NULL) == RMSNORM_OK;
}

int main(void)
{
    float y[ROWS][HIDDEN];
    const rmsnorm_operator *const op = rmsnorm_operator_find("", "SimplifiedLayerNormalization", 1);
    rmsnorm_webgpu *gpu;
    int done;
    if (rmsnorm_webgpu_open(NULL, &gpu) == RMSNORM_OK) {
        rmsnorm_adapter adapter;
        rmsnorm_webgpu_describe(gpu, &adapter);
        printf("on %s, %s\n", adapter.name, adapter.backend);
        done = on_the_gpu(gpu, op, y);
        rmsnorm_webgpu_close(gpu);
    } else {
        printf("on the CPU: %s\n", rmsnorm_last_error());
        done = on_the_cpu(op, y);
    }
    if (!done) {
        fprintf(stderr, "%s\n", rmsnorm_last_error());
        return 1;
    }
    for (int row = 0; row < ROWS; row++) {
        printf("%.4f %.4f %.4f %.4f\n", (double)y[row][0], (double)y[row][1], (double)y[row][2], (double)y[row][3]);
    }
    return 0;
}
