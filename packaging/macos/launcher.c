/* The preview's executable: Python from the bundle, running the program from the bundle. PyInstaller brings its own.
 *
 * A helper process (`-c`, `-m`, as multiprocessing starts them) enters here too, and gets what it asked for.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int _NSGetExecutablePath(char *buffer, uint32_t *size);

static int is_for_python(const char *argument) {
    return argument[0] == '-' && argument[1] && strchr("cmBIES", argument[1]);
}

int main(int argc, char **argv) {
    char raw[PATH_MAX], own[PATH_MAX], contents[PATH_MAX], place[PATH_MAX];
    uint32_t size = sizeof raw;
    if (_NSGetExecutablePath(raw, &size) || !realpath(raw, own)) return 70;
    strcpy(contents, own); /* …/Contents/MacOS/turboquant-chat */
    for (int up = 0; up < 2; up++) *strrchr(contents, '/') = 0;
    snprintf(place, sizeof place, "%s/Resources/python", contents);
    setenv("PYTHONHOME", place, 1);
    snprintf(place, sizeof place, "%s/Resources/program", contents);
    setenv("PYTHONPATH", place, 1);
    setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
    setenv("PYTHONNOUSERSITE", "1", 1);
    snprintf(place, sizeof place, "%s/Frameworks/libpython3.11.dylib", contents);
    void *python = dlopen(place, RTLD_NOW | RTLD_GLOBAL);
    int (*run)(int, char **) = python ? (int (*)(int, char **))dlsym(python, "Py_BytesMain") : NULL;
    if (!run) {
        fprintf(stderr, "%s\n", dlerror());
        return 71;
    }
    char **arguments = calloc((size_t)argc + 3, sizeof *arguments);
    int count = 0;
    arguments[count++] = own;
    if (argc < 2 || !is_for_python(argv[1])) {
        arguments[count++] = "-m";
        arguments[count++] = "app";
    }
    for (int i = 1; i < argc; i++) arguments[count++] = argv[i];
    return run(count, arguments);
}
