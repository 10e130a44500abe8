/** A promise that is resolved from outside. */
export interface Signal {
  readonly promise: Promise<void>
  readonly resolve: () => void
}

/** A signal that has not been given yet; giving it again changes nothing. */
export function newSignal(): Signal {
  let resolve: () => void = () => undefined
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
