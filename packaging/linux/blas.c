/* The products that MLX asks of a BLAS, computed by the OpenBLAS that NumPy's wheel brings under names of its own and with
 * integers of 64 bits. As libopenblas.so.0 it takes the place of the slow reference BLAS that MLX's wheel links, and a
 * bundle carries one OpenBLAS, not two.
 */
#include <stdint.h>

#define PRODUCT(letter, scalar, type)                                                                                  \
    void scipy_cblas_##letter##gemm64_(int, int, int, int64_t, int64_t, int64_t, scalar, const type *, int64_t,        \
                                       const type *, int64_t, scalar, type *, int64_t);                                \
    void cblas_##letter##gemm(int order, int a_is, int b_is, int m, int n, int k, scalar alpha, const type *a, int lda, \
                              const type *b, int ldb, scalar beta, type *c, int ldc) {                                 \
        scipy_cblas_##letter##gemm64_(order, a_is, b_is, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                 \
    }

PRODUCT(s, float, float)
PRODUCT(d, double, double)
PRODUCT(c, const void *, void)
