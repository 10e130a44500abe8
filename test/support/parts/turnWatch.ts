import { readFileSync } from 'node:fs'

/** The time that a process's first thread has had a CPU, in milliseconds; where the system does not say, the time of day. */
export function runMs(pid: number): number {
  if (process.platform !== 'linux') return performance.now()
  const [nanoseconds] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')
  return Number(nanoseconds) / 1e6
}

const { parse } = JSON
const WORK = JSON.stringify(Array.from({ length: 16_000 }, (_, n) => ({ n })))
const WORK_ROUNDS = 20
/** Of one round, on the machines for which bounds of turns were set. */
const WORK_MS = 1.5

/** How many times as long as on a quiet machine this thread takes for its work now; at least 1. The system counts in ticks of 4 ms. */
export function slowness(): number {
  const beganMs = runMs(process.pid)
  for (let i = 0; i < WORK_ROUNDS; i++) parse(WORK)
  return Math.max(1, (runMs(process.pid) - beganMs) / (WORK_ROUNDS * WORK_MS))
}

/** The longest that this thread is at work in one turn of the event loop while something is done, in milliseconds. */
export async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  let longest = 0
  let last = runMs(process.pid)
  let goesOn = true
  const tick = (): void => {
    const now = runMs(process.pid)
    longest = Math.max(longest, now - last)
    last = now
    if (goesOn) setImmediate(tick)
  }
  await new Promise((resolve) => setImmediate(resolve))
  last = runMs(process.pid)
  setImmediate(tick)
  await work()
  await new Promise((resolve) => setImmediate(resolve))
  goesOn = false
  return longest
}

/** Notes the most characters that this thread has parsed or printed at once. */
export function watchJson() {
  const { parse, stringify } = JSON
  let most = 0
  const note = (text: unknown): void => {
    if (typeof text === 'string') most = Math.max(most, text.length)
  }
  JSON.parse = (...args: Parameters<typeof parse>): unknown => {
    note(args[0])
    return parse(...args)
  }
  JSON.stringify = ((...args: Parameters<typeof stringify>) => {
    const text = stringify(...args)
    note(text)
    return text
  }) as typeof stringify
  return {
    bytes: () => most,
    reset: () => {
      most = 0
    },
    stop: () => Object.assign(JSON, { parse, stringify }),
  }
}
