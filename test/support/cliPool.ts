import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { compiled } from '../../control/launch/paths.ts'
import { TEST_FLAGS } from './nodeFlags.ts'

/** More that wait for work than files run at once are of no use. */
const IDLE_MAX = 4

/**
 * Processes of the operator's command line for a whole run of tests. A connection to the socket has one of them for itself,
 * and it goes to the next connection afterwards: loading the command line takes a second of a core, which each of two
 * hundred stacks would pay. Lines of a connection are messages of `cliServer.ts`, as JSON.
 */
export class CliPool {
  readonly path: string
  private readonly server: Server
  private readonly children = new Set<ChildProcess>()
  private readonly idle: ChildProcess[] = []

  private constructor(path: string) {
    this.path = path
    this.server = createServer((socket) => this.serve(socket))
  }

  /** @param path of the socket */
  static async listen(path: string): Promise<CliPool> {
    const pool = new CliPool(path)
    await once(pool.server.listen(path), 'listening')
    return pool
  }

  async stop(): Promise<void> {
    this.server.close()
    const ended = [...this.children].map((child) => once(child, 'exit'))
    for (const child of this.children) child.kill()
    await Promise.all(ended)
  }

  private serve(socket: Socket): void {
    const child = this.idle.pop() ?? this.fork()
    let waiting = 0
    const answer = (message: object): void => {
      waiting--
      socket.write(`${JSON.stringify(message)}\n`)
    }
    const died = (): void => void socket.destroy()
    child.on('message', answer).on('exit', died)
    createInterface({ input: socket }).on('line', (line) => {
      const message = JSON.parse(line) as object
      if ('id' in message) waiting++
      child.send(message)
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      child.off('message', answer).off('exit', died)
      // A command that nobody waits for any more may run for as long as it likes.
      if (waiting > 0 || this.idle.length >= IDLE_MAX) child.kill()
      else if (this.children.has(child)) this.idle.push(child)
    })
  }

  private fork(): ChildProcess {
    const child = fork(compiled('test/support/cliServer.js'), { execArgv: TEST_FLAGS })
    this.children.add(child)
    child.on('exit', () => {
      this.children.delete(child)
      const place = this.idle.indexOf(child)
      if (place >= 0) this.idle.splice(place, 1)
    })
    return child
  }
}
