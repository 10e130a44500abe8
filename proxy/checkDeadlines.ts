/**
 * Checks deadlines periodically. It compares with a time taken before the sockets were read, and runs after they were read,
 * so that a process that was blocked does not time out data that has already arrived.
 * @param check gets that time, in milliseconds of performance.now()
 * @returns the timer, for clearInterval
 */
export function checkDeadlines(everyMs: number, check: (nowMs: number) => void): NodeJS.Timeout {
  return setInterval(() => setImmediate(check, performance.now()), everyMs)
}

/** The same, once. @returns the timer, for clearTimeout; the check may follow when it has fired already */
export function checkDeadlineIn(afterMs: number, check: (nowMs: number) => void): NodeJS.Timeout {
  return setTimeout(() => setImmediate(check, performance.now()), afterMs)
}
