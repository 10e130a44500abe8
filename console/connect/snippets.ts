/** The clients with a snippet, and their names. */
export const CLIENTS = [
  ['curl', 'curl'],
  ['openai', 'OpenAI SDK'],
  ['anthropic', 'Anthropic SDK'],
  ['claude-code', 'Claude Code'],
  ['codex', 'Codex'],
  ['opencode', 'opencode'],
] as const

export type ClientName = (typeof CLIENTS)[number][0]

type Snippet = (base: string, model: string) => string

const SNIPPETS: Readonly<Record<ClientName, Snippet>> = {
  curl: (base, model) => `curl -N ${base}/v1/chat/completions \\
  -H "Authorization: Bearer $SLUICE_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '${JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'Hello' }] })}'`,
  openai: (base, model) => `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: '${base}/v1', apiKey: process.env.SLUICE_KEY })
const answer = await client.chat.completions.create({
  model: '${model}',
  messages: [{ role: 'user', content: 'Hello' }],
})
console.log(answer.choices[0].message.content, answer.receipt.cost.usd)`,
  anthropic: (base, model) => `import Anthropic from '@anthropic-ai/sdk'

const client = new Anthropic({ baseURL: '${base}', authToken: process.env.SLUICE_KEY, apiKey: null })
const answer = await client.messages.create({
  model: '${model}',
  max_tokens: 512,
  messages: [{ role: 'user', content: 'Hello' }],
})
console.log(answer.content, answer.receipt.cost.usd)`,
  'claude-code': (base, model) => `export ANTHROPIC_BASE_URL=${base}
export ANTHROPIC_AUTH_TOKEN=$SLUICE_KEY
export ANTHROPIC_MODEL=${model}
export ANTHROPIC_SMALL_FAST_MODEL=${model}
export CLAUDE_CODE_MAX_OUTPUT_TOKENS=16000
claude`,
  codex: (base, model) => `# ~/.codex/config.toml, with the key in the environment as SLUICE_KEY
model = "${model}"
model_provider = "sluice"

[model_providers.sluice]
name = "Sluice"
base_url = "${base}/v1"
env_key = "SLUICE_KEY"
wire_api = "responses"`,
  opencode: (base, model) =>
    JSON.stringify(
      {
        model: `sluice/${model}`,
        provider: {
          sluice: {
            npm: '@ai-sdk/openai-compatible',
            name: 'Sluice',
            options: { baseURL: `${base}/v1`, apiKey: '{env:SLUICE_KEY}' },
            models: { [model]: { name: model } },
          },
        },
      },
      null,
      2,
    ),
}

/**
 * The settings of a client for this gateway, without a secret.
 * @param base the gateway's address, without /v1
 */
export function snippetOf(client: ClientName, base: string, model: string): string {
  return SNIPPETS[client](base, model)
}
