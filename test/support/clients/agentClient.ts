import { type ApiAnswer, api, apiOk, type Json, type Owner } from './apiClient.ts'
import { chat } from './chatClient.ts'

/** An agent as it is read. */
export interface Agent extends Json {
  readonly id: string
  readonly slug: string
  readonly balance: { coin: string }
  readonly available: { coin: string }
}

/** The agents of an owner over HTTP. */
export class AgentClient {
  private readonly url: string
  private readonly owner: Owner
  private names = 0

  constructor(url: string, owner: Owner) {
    this.url = url
    this.owner = owner
  }

  post<Body = Json>(path: string, token: string, body: unknown = {}, headers: Record<string, string> = {}) {
    return api<Body>(this.url, 'POST', path, { token, body, headers })
  }

  /** Makes an agent with a key of its own. */
  async make(policy: Json = {}, by = this.owner): Promise<{ slug: string; key: string }> {
    const { token } = by
    const slug = `agent-${++this.names}`
    await apiOk(this.url, 'POST', '/v1/agents', { token, body: { slug, ...policy } })
    const { api_key } = await apiOk<{ api_key: string }>(this.url, 'POST', `/v1/agents/${slug}/key`, { token })
    return { slug, key: api_key }
  }

  fund(slug: string, amount: string, token = this.owner.token, headers = {}): Promise<ApiAnswer> {
    return this.post(`/v1/agents/${slug}/fund`, token, { amount }, headers)
  }

  read(slug: string, token = this.owner.token): Promise<Agent> {
    return apiOk<Agent>(this.url, 'GET', `/v1/agents/${slug}`, { token })
  }

  patch(slug: string, body: Json, token = this.owner.token): Promise<ApiAnswer<Agent>> {
    return api<Agent>(this.url, 'PATCH', `/v1/agents/${slug}`, { token, body })
  }

  /** Has the agent of a key ask `test/small`. */
  ask(key: string, more: Json = {}) {
    return chat(this.url, key, { model: 'test/small', max_tokens: 10, ...more })
  }

  /** An agent's coin in the book, and what is free of it. */
  async coinOf(slug: string): Promise<[book: string, free: string]> {
    const { balance, available } = await this.read(slug)
    return [balance.coin, available.coin]
  }
}
