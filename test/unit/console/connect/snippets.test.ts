// Goal: every client is shown this gateway's address and model, and no secret. Method: the snippet of each.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CLIENTS, snippetOf } from '../../../../console/connect/snippets.ts'

test('every snippet names the address and the model, and reads the key from the environment', () => {
  for (const [client] of CLIENTS) {
    const text = snippetOf(client, 'https://gateway.example', 'demo/chat-small')
    assert.ok(text.includes('https://gateway.example'), client)
    assert.ok(text.includes('demo/chat-small'), client)
    assert.match(text, /SLUICE_KEY/, client)
    assert.doesNotMatch(text, /sk_/, client)
  }
})

test('the settings that are JSON parse', () => {
  assert.ok(JSON.parse(snippetOf('opencode', 'https://gateway.example', 'demo/chat-small')))
})
