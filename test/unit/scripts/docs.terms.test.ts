// Goal: the words that people type lead to a section. Method: the terms are those that users of such gateways ask about in
// public issues and questions; each has to be in a heading of the documentation or in its index of search terms.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { projectRoot } from '../../../control/launch/paths.ts'
import { markdownPages } from '../../support/markdownPages.ts'

const TERMS = `
API key, API key rotation, Anthropic, OpenAI SDK, agent, approval, attestation, audit, canary, compute lock, confidential computing, liability,
order book, private tier, probation, proof of reserves, staking, vault, authentication, backoff, backpressure, backup, balance,
base URL, batch, budget, caching, prompt caching, circuit breaker, client disconnect, configuration, cost, credits, deduplicat,
deploy, Docker, drain, embeddings, environment variables, error codes, exponential backoff, failover, fallback, function calling,
graceful shutdown, health check, high availability, idempotency, image, keep-alive, latency, ledger, LiteLLM, load balancing, logs,
max_tokens, MCP, metrics, multi-tenant, OpenAPI, OpenRouter, pagination, pay per request, Portkey, PostgreSQL, price, privacy,
Prometheus, quota, rate limit, receipt, Redis, refund, rerank, Responses API, restore, retention, retry, Retry-After, routing,
scaling, self-host, server-sent events, signature, speech, spend limit, SSE, statement, streaming, timeout, TLS, tokens, tools,
transcription, upgrade, usage, video, virtual key, wallet, webhook, x402
`

test('each search term is in a heading or in the index', () => {
  const headings = markdownPages().flatMap(({ path }) => {
    const text = readFileSync(join(projectRoot, path), 'utf8')
    return [...text.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) => heading)
  })
  const [, index = ''] = readFileSync(join(projectRoot, 'docs/README.md'), 'utf8').split('## Index of search terms')
  const indexed = [...index.matchAll(/^\| ([^|]+) \|/gm)].map(([, term = '']) => term)
  const places = [...headings, ...indexed].join('\n').toLowerCase()
  const terms = TERMS.trim().split(/,\s+/)
  assert.ok(terms.length >= 60)
  assert.deepEqual(
    terms.filter((term) => !places.includes(term.toLowerCase())),
    [],
    'give it a heading, or a row in the index of docs/README.md',
  )
})
