/** A waiter for Redis's answer about a request. */
export interface Crashable {
  /** A call to it threw, and so may this one. */
  onCrashed(error: unknown): void
}

/** Calls a waiter. One that fails on the news must not keep them from the others of its batch. */
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
