/* residual.c: what stands between two layers of a Llama: add the residual, normalize, keep the sum for the next layer. */
#include <rmsnorm/rmsnorm.h>
#include <stdio.h>

int main(void)
{
    float hidden[2][2] = {{1, -3}, {3, -5}}, skip[2][2] = {{1, 1}, {1, 1}}, gamma[2] = {2, -3};
    float output[2][2], sum[2][2];
    const rmsnorm_tensor input_tensor = {.dtype = RMSNORM_FLOAT, .rank = 2, .dims = {2, 2}, .data = hidden};
    const rmsnorm_tensor skip_tensor = {.dtype = RMSNORM_FLOAT, .rank = 2, .dims = {2, 2}, .data = skip};
    const rmsnorm_tensor gamma_tensor = {.dtype = RMSNORM_FLOAT, .rank = 1, .dims = {2}, .data = gamma};
    rmsnorm_tensor output_tensor = {.dtype = RMSNORM_FLOAT, .rank = 2, .dims = {2, 2}, .data = output};
    rmsnorm_tensor sum_tensor = {.dtype = RMSNORM_FLOAT, .rank = 2, .dims = {2, 2}, .data = sum};

    /* Slots as in the ONNX node: inputs input, skip, gamma; outputs output, (mean), (inv_std_var), input_skip_bias_sum. */
    const rmsnorm_tensor *const inputs[] = {&input_tensor, &skip_tensor, &gamma_tensor};
    rmsnorm_tensor *const outputs[] = {&output_tensor, NULL, NULL, &sum_tensor};
    const rmsnorm_operator *const op = rmsnorm_operator_find("com.microsoft", "SkipSimplifiedLayerNormalization", 1);

    if (rmsnorm_run(op, NULL, inputs, 3, outputs, 4, NULL) != RMSNORM_OK) {
        fprintf(stderr, "%s\n", rmsnorm_last_error());
        return 1;
    }
    for (int row = 0; row < 2; row++) {
        printf("sum %g %g, normalized %g %g\n", sum[row][0], sum[row][1], output[row][0], output[row][1]);
    }
    return 0;
}
