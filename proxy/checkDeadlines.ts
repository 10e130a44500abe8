/**
 * Has deadlines looked at again and again: against the time before the sockets were read, but after they were. So a
 * process that stood still, wherever in its turn, calls nobody late whose bytes are there.
 * @param check gets that time, in milliseconds of performance.now()
 * @returns what clearInterval ends
 */
export function checkDeadlines(everyMs: number, check: (nowMs: number) => void): NodeJS.Timeout {
  return setInterval(() => setImmediate(check, performance.now()), everyMs)
}
