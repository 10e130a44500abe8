/** A waiter for Redis's answer about a request. */
export interface Crashable {
  /** Called after another callback threw; it may throw as well. */
  onCrashed(error: unknown): void
}

/** Calls a waiter. An exception of one waiter must not prevent the calls of the others in its batch. */
export function notifyWaiter<Waiter extends Crashable>(
  waiter: Waiter,
  call: (waiter: Waiter) => void,
  onFault: (error: unknown) => void,
): void {
  try {
    call(waiter)
  } catch (error) {
    onFault(error)
    try {
      waiter.onCrashed(error)
    } catch (again) {
      onFault(again)
    }
  }
}
