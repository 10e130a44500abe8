/**
 * Runs work that starts processes, and ends them in the reverse order of their start, also when the work fails or this
 * process is told to stop.
 * @param work puts what ends a process into the list that it is given
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

// What starts while this runs is ended as well.
async function endAll(stops: (() => Promise<void>)[]): Promise<void> {
  for (let stop = stops.pop(); stop !== undefined; stop = stops.pop()) {
    await stop().catch((error: unknown) => console.error(error))
  }
}
