/* What numba's loops want from their surroundings, so that a bundle needs neither numba nor LLVM.
 *
 * cpu_kernels.py compiles the loops and generates `entries.h` (one `entry` a loop: what its arguments are, and a call
 * that spreads a row of words over them). Python calls `call`. Arrays are taken through the buffer protocol, which is
 * part of Python's stable ABI, and their types are checked: the loops were compiled for these alone.
 */
#include <alloca.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    void *buf, *obj;
    intptr_t len, itemsize;
    int readonly, ndim;
    char *format;
    intptr_t *shape, *strides, *suboffsets;
    void *internal;
} Buffer; /* Py_buffer */
enum { FORMAT_C_CONTIGUOUS = 0x4 | 0x8 | 0x10 | 0x20, MOST_ARRAYS = 64, MOST_WORDS = 640 };

extern void *PyExc_TypeError, *PyExc_RuntimeError;
int PyObject_GetBuffer(void *, Buffer *, int);
void PyBuffer_Release(Buffer *);
void PyErr_Format(void *, const char *, ...);
void *PyErr_Occurred(void);
void *PyEval_SaveThread(void);
void PyEval_RestoreThread(void *);
void *PyTuple_GetItem(void *, intptr_t);
intptr_t PyTuple_Size(void *);
long long PyLong_AsLongLong(void *);
double PyFloat_AsDouble(void *);
int PyObject_IsTrue(void *);

/* ------------------------------------------------------------------ arrays that a loop makes for itself */

typedef struct {
    size_t count;
    void *destructor, *destructor_info, *data; /* compiled code reads the fourth word */
    size_t size;
    void *allocator;
} Memory;

void *NRT_MemInfo_alloc_aligned(size_t size, unsigned align) {
    char *block = NULL;
    if (align < sizeof(Memory)) align = 64;
    if (posix_memalign((void **)&block, align, align + size)) return NULL;
    Memory *memory = (Memory *)block;
    *memory = (Memory){.count = 1, .data = block + align, .size = size};
    return memory;
}
void NRT_MemInfo_call_dtor(void *memory) { free(memory); }
void NRT_Free(void *block) { free(block); }

/* Ways out for errors that these loops can't meet: nothing in them raises. */
static void unreachable(const char *name) {
    fprintf(stderr, "a loop of the cache asked for %s\n", name);
    abort();
}
#define NEVER(name) void name(void) { unreachable(#name); }
NEVER(numba_do_raise)
NEVER(numba_unpickle)
NEVER(numba_runtime_build_excinfo_struct)

/* Around its threads a loop takes the GIL and lets it go again, as if it held it. `call` has let it go before: a window
 * that is busy in Python mustn't hold up each of a reply's layers. */
void numba_gil_ensure(int *state) { (void)state; }
void numba_gil_release(int *state) { (void)state; }
void *loop_save_thread(void) { return NULL; }
void loop_restore_thread(void *state) { (void)state; }

/* ------------------------------------------------------------------ the threads of a prange */

typedef void (*Loop)(char **, size_t *, size_t *, void *);
static struct {
    Loop loop;
    char **arrays;
    size_t *dims, *steps, inner, count, next, done, total;
    void *data;
} job;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, entrance = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER, finished = PTHREAD_COND_INITIALIZER;
static size_t threads = 1, workers = 0;

/* Takes one share; called and left with the lock held. */
static void share(void) {
    size_t at = job.next++;
    pthread_mutex_unlock(&lock);
    char **arrays = alloca(job.count * sizeof *arrays);
    size_t *dims = alloca((job.inner + 1) * sizeof *dims);
    for (size_t i = 0; i < job.count; i++) arrays[i] = job.arrays[i] + at * job.steps[i];
    memcpy(dims, job.dims, (job.inner + 1) * sizeof *dims);
    dims[0] = 1;
    job.loop(arrays, dims, job.steps, job.data);
    pthread_mutex_lock(&lock);
    job.done++;
}

static void take_shares(int is_worker) {
    while (job.next < job.total) {
        share();
        if (is_worker && job.done == job.total) pthread_cond_signal(&finished);
    }
}

static void *worker(void *nothing) {
    pthread_mutex_lock(&lock);
    for (;;) {
        take_shares(1);
        pthread_cond_wait(&work, &lock);
    }
    return nothing;
}

void numba_parallel_for(void *loop, char **arrays, size_t *dims, size_t *steps, void *data, size_t inner, size_t count,
                        int wanted) {
    (void)wanted;
    pthread_mutex_lock(&lock);
    job.loop = (Loop)loop, job.arrays = arrays, job.dims = dims, job.steps = steps, job.data = data;
    job.inner = inner, job.count = count, job.next = 0, job.done = 0, job.total = dims[0];
    for (pthread_t thread; workers + 1 < threads; workers++) {
        if (pthread_create(&thread, NULL, worker, NULL)) break;
        pthread_detach(thread);
    }
    pthread_cond_broadcast(&work);
    take_shares(0);
    while (job.done < job.total) pthread_cond_wait(&finished, &lock);
    pthread_mutex_unlock(&lock);
}

void set_threads(size_t count) { threads = count ? count : 1; }
size_t get_num_threads(void) { return threads; }
size_t get_parallel_chunksize(void) { return 0; }
size_t set_parallel_chunksize(size_t size) { return size; }
size_t get_sched_size(size_t count, size_t dimensions, intptr_t *first, intptr_t *last) {
    (void)dimensions, (void)first, (void)last;
    return count;
}
uintptr_t *allocate_sched(size_t words) { return malloc(words * sizeof(uintptr_t)); }
void deallocate_sched(uintptr_t *schedule) { free(schedule); }

/* (first, last) of each share of first..last; an empty share is 1..0. One dimension: no loop here has more. */
uintptr_t *do_scheduling_unsigned(size_t dimensions, intptr_t *first, intptr_t *last, size_t shares,
                                  uintptr_t *schedule, intptr_t debug) {
    (void)debug;
    if (dimensions != 1) unreachable("a loop of several dimensions");
    intptr_t total = *last - *first + 1;
    for (size_t i = 0; i < shares; i++) {
        intptr_t begin = total * (intptr_t)i / (intptr_t)shares, end = total * (intptr_t)(i + 1) / (intptr_t)shares;
        schedule[2 * i] = end > begin ? (uintptr_t)(*first + begin) : 1;
        schedule[2 * i + 1] = end > begin ? (uintptr_t)(*first + end - 1) : 0;
    }
    return schedule;
}

/* ------------------------------------------------------------------ calls from Python */

typedef struct {
    const char *name, *arguments;
    int (*run)(const int64_t *);
} Entry;
typedef struct {
    const char *name;
    Buffer arrays[MOST_ARRAYS];
    int64_t words[MOST_WORDS];
    int array_count, word_count;
} Call;

/* Reads `what` from a tuple: a type and a number of dimensions (f3: float32 [:, :, :]), i, b, F: a single integer, truth
 * value, float32; ( ): a tuple. Returns where it ended, or NULL with Python's exception set. */
static const char *read_tuple(Call *call, const char *what, void *tuple) {
    intptr_t size = PyTuple_Size(tuple), at = 0;
    if (size < 0) return NULL;
    for (; *what && *what != ')'; at++) {
        void *value = at < size ? PyTuple_GetItem(tuple, at) : NULL;
        if (!value) {
            PyErr_Format(PyExc_TypeError, "%s: too few arguments", call->name);
            return NULL;
        }
        int64_t *word = call->words + call->word_count;
        char kind = *what++;
        if (kind == '(') {
            if (!(what = read_tuple(call, what, value))) return NULL;
            what++;
        } else if (kind == 'i' || kind == 'b') {
            *word = kind == 'i' ? PyLong_AsLongLong(value) : PyObject_IsTrue(value);
            call->word_count++;
        } else if (kind == 'F') {
            float number = (float)PyFloat_AsDouble(value);
            *word = 0;
            memcpy(word, &number, sizeof number);
            call->word_count++;
        } else {
            Buffer *array = call->arrays + call->array_count;
            int dimensions = *what++ - '0';
            if (PyObject_GetBuffer(value, array, FORMAT_C_CONTIGUOUS)) return NULL;
            call->array_count++;
            if (array->ndim != dimensions || array->format[0] != kind) {
                PyErr_Format(PyExc_TypeError, "%s: argument %zd is %d-dimensional of '%s', not %d of '%c'", call->name,
                             at, array->ndim, array->format, dimensions, kind);
                return NULL;
            }
            *word++ = 0, *word++ = 0; /* whoever owns the memory: the caller does, for as long as this lasts */
            *word++ = array->len / array->itemsize, *word++ = array->itemsize, *word++ = (int64_t)array->buf;
            for (int i = 0; i < dimensions; i++) *word++ = array->shape[i];
            for (int i = 0; i < dimensions; i++) *word++ = array->strides[i];
            call->word_count += 5 + 2 * dimensions;
        }
        if (PyErr_Occurred()) return NULL;
    }
    if (at != size) {
        PyErr_Format(PyExc_TypeError, "%s: %zd arguments too many", call->name, size - at);
        return NULL;
    }
    return what;
}

#include "entries.h"

/* Runs loop number `which` on a tuple of arguments; -1 with Python's exception set. The GIL is released meanwhile. */
int call(int which, void *arguments) {
    Call call = {.name = entries[which].name};
    int status = -1;
    if (read_tuple(&call, entries[which].arguments, arguments)) {
        void *state = PyEval_SaveThread();
        pthread_mutex_lock(&entrance);
        status = entries[which].run(call.words);
        pthread_mutex_unlock(&entrance);
        PyEval_RestoreThread(state);
        if (status) PyErr_Format(PyExc_RuntimeError, "%s ended with status %d", call.name, status), status = -1;
    }
    for (int i = 0; i < call.array_count; i++) PyBuffer_Release(call.arrays + i);
    return status;
}
