import type { MainToWorker, WorkerSnapshot, WorkerToMain } from './workerMessages.ts'

/** Sends a message of a worker to the supervisor, unless that has ended: the worker goes on without it until it has drained. */
export function tell(message: WorkerToMain): void {
  if (process.connected) process.send?.(message)
}

/** The actions that the supervisor asks of a worker. */
export interface WorkerActions {
  /** @param noticeMs how long it still serves, so that load balancers notice */
  stop(noticeMs: number): void
  /** All workers have drained. */
  leave(): void
  snapshot(): WorkerSnapshot
  /** The access log was renamed. */
  reopen(): void
  /** The notice of a signal. */
  readonly leaveNoticeMs: number
}

/** Has a worker obey its supervisor, and signals. */
export function obeyMain({ stop, leave, snapshot, reopen, leaveNoticeMs }: WorkerActions): void {
  process.on('message', (message: MainToWorker) => {
    if ('drain' in message) stop(message.noticeMs)
    else if ('leave' in message) leave()
    else if ('reopen' in message) reopen()
    else tell({ snapshot: { id: message.takeSnapshot, data: snapshot() } })
  })
  process.on('disconnect', () => {
    leave()
    stop(0)
  })
  process.on('SIGTERM', () => stop(leaveNoticeMs))
  // A terminal sends Ctrl-C to the whole group; the supervisor decides when its workers stop.
  process.on('SIGINT', () => undefined)
  // The supervisor passes it on.
  process.on('SIGHUP', () => undefined)
}
