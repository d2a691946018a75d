/* Text for the supervisor: it has no C library on x86-64. Every `put` answers the place after what it wrote. */
#ifndef TEXT_H
#define TEXT_H

static long length(const char *text) {
    long count = 0;
    while (text[count]) count++;
    return count;
}

static char *put(char *to, const char *text) {
    while (*text) *to++ = *text++;
    return to;
}

static char *put_number(char *to, long long value) {
    char digits[24];
    int count = 0;
    if (value < 0) *to++ = '-', value = -value;
    do digits[count++] = (char)('0' + value % 10);
    while (value /= 10);
    while (count) *to++ = digits[--count];
    return to;
}

static long number(const char *text) {
    long value = 0;
    while (*text >= '0' && *text <= '9') value = value * 10 + (*text++ - '0');
    return value;
}

#endif
