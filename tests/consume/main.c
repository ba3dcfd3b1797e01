/* main.c: the operators, from a program that knows the installed header alone. */
#include <rmsnorm/rmsnorm.h>
#include <stdio.h>

int main(void)
{
    float x[2] = {2.0F, -2.0F};
    float scale[2] = {1.0F, 2.0F};
    float y[2] = {0.0F, 0.0F};
    const rmsnorm_tensor input = {.dtype = RMSNORM_FLOAT, .rank = 2, .dims = {1, 2}, .data = x};
    const rmsnorm_tensor weight = {.dtype = RMSNORM_FLOAT, .rank = 1, .dims = {2}, .data = scale};
    rmsnorm_tensor output = {.dtype = RMSNORM_FLOAT, .rank = 2, .dims = {1, 2}, .data = y};
    const rmsnorm_tensor *const inputs[] = {&input, &weight};
    rmsnorm_tensor *const outputs[] = {&output};
    rmsnorm_options options = RMSNORM_OPTIONS_INIT;
    rmsnorm_pool *pool = NULL;
    if (rmsnorm_pool_create(2, &pool) != RMSNORM_OK) {
        fprintf(stderr, "%s\n", rmsnorm_last_error());
        return 1;
    }
    options.runner = rmsnorm_pool_runner(pool);
    const rmsnorm_operator *const op = rmsnorm_operator_find("", "RMSNormalization", 23);
    rmsnorm_attributes attributes;
    rmsnorm_attributes_init(op, &attributes);
    attributes.epsilon = 12.0F;
    const rmsnorm_status status = rmsnorm_run(op, &attributes, inputs, 2, outputs, 1, &options);
    rmsnorm_pool_destroy(pool);
    if (status != RMSNORM_OK) {
        fprintf(stderr, "%s\n", rmsnorm_last_error());
        return 1;
    }
    printf("rmsnorm %s: %g %g\n", rmsnorm_version(), (double)y[0], (double)y[1]);
    return y[0] == 0.5F && y[1] == -1.0F ? 0 : 1;
}
