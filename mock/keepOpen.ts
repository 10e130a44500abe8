import type { HttpResponse } from 'uWebSockets.js'

/** The server package closes a connection whose client takes nothing for 8 to 12 seconds, unless its timer is restarted. */
const EVERY_MS = 4_000

interface OpenAnswer {
  readonly res: HttpResponse
  /** No method of `res` may be called any more. */
  readonly ended: boolean
}

const open = new Set<OpenAnswer>()
let timer: NodeJS.Timeout | undefined

/** Keeps the connection of an answer until it ends, however slow its client is. */
export function keepOpen(answer: OpenAnswer): void {
  open.add(answer)
  timer ??= setInterval(restartTimers, EVERY_MS).unref()
}

function restartTimers(): void {
  for (const answer of open) {
    if (answer.ended) {
      open.delete(answer)
    } else {
      answer.res.pause()
      answer.res.resume()
    }
  }
  if (open.size > 0) return
  clearInterval(timer)
  timer = undefined
}
