/**
 * Runs work that starts processes, and ends them in the reverse order of their start, also when the work fails or this
 * process is told to stop.
 * @param work puts what ends a process into the list that it is given
 */
export async function untilStopped<Result>(work: (stops: (() => Promise<void>)[]) => Promise<Result>): Promise<Result> {
  const stops: (() => Promise<void>)[] = []
  const stopAll = async () => {
    for (const stop of stops.splice(0).reverse()) await stop()
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
