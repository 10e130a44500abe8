/**
 * Waits for `work`, but not longer than `timeoutMs`; the work itself goes on.
 * @param onLate says what comes back in its place, or throws
 * @throws what the work rejects with in time, and what `onLate` throws
 */
export async function beforeDeadline<T, L = never>(
  work: Promise<T>,
  timeoutMs: number,
  onLate: () => L,
): Promise<T | L> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(resolve, timeoutMs, 'late')
  })
  try {
    const first = await Promise.race([work.then((value) => ({ value })), late])
    return first === 'late' ? onLate() : first.value
  } finally {
    clearTimeout(timer)
  }
}
