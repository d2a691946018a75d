/* Why something was refused: one sentence, kept until somebody prints it. */
#ifndef SCORPIO_REASON_H
#define SCORPIO_REASON_H

typedef struct {
    char text[1024];
    int executable_is_damaged; /* then another directory does not help */
} Reason;

/* Keeps the sentence and returns -1, so that a function can end with `return because(…)`. */
int because(Reason *reason, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
