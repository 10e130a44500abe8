/** The ref of a transaction for a row that may need several: that of the row, and the number of the attempt from 1. */
export const attemptRef = (subject: string | number, attempt: number): string => `${subject}#${attempt}`

/** The row that the ref of an attempt names; `subject_id` in the database. */
export const subjectOf = (ref: string): string => ref.slice(0, ref.indexOf('#'))
