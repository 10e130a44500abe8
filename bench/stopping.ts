/**
 * Runs work that starts processes, and ends them in the reverse order of their start, even if the work fails or this
 * process receives SIGINT or SIGTERM.
 * @param work adds a function that ends a process to its list for each process that it starts
 */
export async function untilStopped<Result>(work: (stops: (() => Promise<void>)[]) => Promise<Result>): Promise<Result> {
  const stops: (() => Promise<void>)[] = []
  let ended: Promise<void> | undefined
  const stopAll = () => {
    ended ??= endAll(stops)
    return ended
  }
  const leave = (code: number) => () => void stopAll().then(() => process.exit(code))
  const [onInterrupt, onTerminate] = [leave(130), leave(143)]
  process.on('SIGINT', onInterrupt).on('SIGTERM', onTerminate)
  try {
    return await work(stops)
  } finally {
    await stopAll()
    process.off('SIGINT', onInterrupt).off('SIGTERM', onTerminate)
  }
}

// Processes that start while this runs are ended as well.
async function endAll(stops: (() => Promise<void>)[]): Promise<void> {
  for (let stop = stops.pop(); stop !== undefined; stop = stops.pop()) {
    await stop().catch((error: unknown) => console.error(error))
  }
}
