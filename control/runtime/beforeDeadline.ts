/**
 * Waits for `work`, but not longer than `timeoutMs`; `work` itself is not cancelled.
 * @param onLate called on timeout; returns the result to use instead, or throws
 * @throws the rejection of `work` before the timeout, and errors of `onLate`
 */
export async function beforeDeadline<T, L = never>(
  work: Promise<T>,
  timeoutMs: number,
  onLate: () => L,
): Promise<T | L> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<'late'>((resolve) => {
    // The sockets are read before it is late: a process that stood still has answers there that came in time.
    timer = setTimeout(() => setImmediate(resolve, 'late'), timeoutMs)
  })
  try {
    const first = await Promise.race([work.then((value) => ({ value })), late])
    return first === 'late' ? onLate() : first.value
  } finally {
    clearTimeout(timer)
  }
}
