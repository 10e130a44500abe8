import type { UpstreamCall, UpstreamListener } from '../../../proxy/upstream/transport/transport.ts'

/** As much as one read of a socket gives. */
const READ_BYTES = 65_536

/** The answer of a provider. */
export interface OfflineAnswer {
  readonly contentType: string
  readonly body: Buffer
}

/** Delivers an answer as a socket does: a part in each turn of the event loop, none while it is paused. */
export function deliver({ contentType, body }: OfflineAnswer, listener: UpstreamListener): UpstreamCall {
  let at = 0
  let isPaused = false
  let isOver = false
  const next = (): void => {
    if (isOver || isPaused) return
    if (at === body.length) {
      isOver = true
      listener.onEnd()
      return
    }
    const part = body.subarray(at, at + READ_BYTES)
    at += part.length
    setImmediate(next)
    listener.onData(part)
  }
  setImmediate(() => {
    listener.onHead(200, { get: (name) => (name === 'content-type' ? contentType : undefined) })
    setImmediate(next)
  })
  return {
    pause: () => {
      isPaused = true
    },
    resume: () => {
      isPaused = false
      setImmediate(next)
    },
    cancel: () => {
      isOver = true
    },
    letGo: () => undefined,
  }
}
