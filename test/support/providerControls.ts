import type { ProviderStats, Served } from '../../mock/main.ts'
import { byRequest } from './attempts.ts'
import type { TestProcess } from './testProcess.ts'
import { until, untilStill } from './until.ts'

/** What a test does with the mock provider of its stack. */
export class ProviderControls {
  private readonly process: TestProcess
  private readonly gatewayUrl: () => string

  constructor(process: TestProcess, gatewayUrl: () => string) {
    this.process = process
    this.gatewayUrl = gatewayUrl
  }

  port(): number {
    return this.process.port
  }

  url(): string {
    return `${this.origin}/v1`
  }

  /** How many requests the mock provider works on. */
  async open(): Promise<number> {
    return (await this.stats()).open
  }

  async stats(): Promise<ProviderStats> {
    return (await (await fetch(`${this.origin}/_stats`)).json()) as ProviderStats
  }

  /**
   * Waits until the mock provider has begun so many answers and sends nothing more of them.
   * @returns the frames or pieces of them that it has sent
   */
  untilStalled(answers: number): Promise<number> {
    return untilStill('the provider sends nothing more', async () => {
      const { open, open_frames_sent } = await this.stats()
      return open === answers ? open_frames_sent : 0
    })
  }

  /** Lets every answer that takes its time stand still, until `release`: a test then needs no luck to be in time. */
  hold(): Promise<unknown> {
    return fetch(`${this.origin}/_hold`, { method: 'POST' })
  }

  release(): Promise<unknown> {
    return fetch(`${this.origin}/_release`, { method: 'POST' })
  }

  /** Leaves a request when the mock provider works on it, which answers when the gateway's one worker has noticed. */
  async leaveHeld(call: { destroy(): unknown }): Promise<void> {
    await until('the provider works on it', async () => (await this.open()) > 0)
    call.destroy()
    // A worker that answers has seen who left before it was asked.
    await (await fetch(`${this.gatewayUrl()}/health`)).arrayBuffer()
    await this.release()
  }

  /** What the mock provider served so far, with the ids of requests. @param since number of a line: only those behind it */
  async log(since = 0): Promise<Served[]> {
    const response = await fetch(`${this.origin}/_log?since=${since}`)
    const text = await response.text()
    const lines = text.split('\n').filter((line) => line !== '')
    return byRequest(lines.map((line) => JSON.parse(line) as Served))
  }

  private get origin(): string {
    return `http://127.0.0.1:${this.process.port}`
  }
}
