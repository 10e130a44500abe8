import OpenAI from 'openai'
import type { Stack } from '../stack.ts'

interface ClientOptions {
  readonly maxRetries?: number
}

/** Official clients of a stack, with nothing but their address and their key changed. */
export class OpenaiClients {
  /** Requests that the clients have sent, retries among them. */
  sent = 0
  private readonly stack: Stack

  constructor(stack: Stack) {
    this.stack = stack
  }

  /** A client with a key. */
  of(apiKey: string, options: ClientOptions = {}): OpenAI {
    const counted: typeof fetch = (input, init) => {
      this.sent++
      return fetch(input, init)
    }
    return new OpenAI({ baseURL: `${this.stack.baseUrl}/v1`, apiKey, fetch: counted, ...options })
  }

  /** A client on an account of its own, so that no test meets the rate limit of another. */
  async create(args: readonly string[] = [], options: ClientOptions = {}): Promise<OpenAI> {
    return this.of((await this.stack.createAccount({ args })).apiKey, options)
  }
}
