import { readJsonBody } from '../../../contract/std/jsonBody.ts'
import { readApiKey } from '../../access/credential.ts'
import type { KeyCache } from '../../access/keyCache.ts'
import type { Principal } from '../../access/principal.ts'
import type { CatalogStore } from '../../catalog/catalogStore.ts'
import { readResponseRequest } from '../../dialects/responses/responsesRequest.ts'
import type { ChatFields } from '../../dialects/shared/chatRequest.ts'
import { type Handler, JSON_TYPE } from '../../server/exchange.ts'
import { checkContext } from '../chat/admit.ts'
import type { Prompt } from '../chat/source.ts'
import { OpenCounts } from '../messages/openCounts.ts'
import { checkKey } from '../run/checkKey.ts'
import { checkModel } from '../run/checkModel.ts'
import type { RunServices } from '../run/services.ts'
import { promptTexts } from '../tokens/promptTexts.ts'

/** A request whose tokens are counted. */
interface Countable {
  readonly request: ChatFields
  readonly prompt: (imageTokens: number) => Prompt | Promise<Prompt>
}

/**
 * POST /v1/responses/input_tokens: the tokens of the input of a response by a tokenizer, marked `estimated` in the answer.
 * Nothing is held or charged.
 */
export function inputTokensHandler(keys: KeyCache, catalog: CatalogStore, services: RunServices): Handler {
  const open = new OpenCounts(services.limits)
  return async (exchange, body) => {
    services.metrics.counters.requests++
    const principal = await keys.find(readApiKey(exchange.head), exchange.startedAtMs)
    checkKey(principal, exchange.startedAtMs)
    const { request, prompt } = await readCountable(body, principal, services)
    const model = checkModel(request.modelId, catalog.model(request.modelId), 'responses', principal)
    checkContext(request, model, 'responses')
    const answer = await open.hold(principal.keyId, async () => {
      const { text, extraTokens } = await prompt(model.imageTokens)
      const [tokens = 0] = await services.tokens.count([text], principal.accountId)
      return { object: 'response.input_tokens', input_tokens: tokens + extraTokens, estimated: true }
    })
    exchange.answer(200, JSON_TYPE, JSON.stringify(answer))
  }
}

async function readCountable(body: Buffer, principal: Principal, { large, limits }: RunServices): Promise<Countable> {
  const thread = large.of(body, 'customer', principal.accountId)
  if (thread === undefined) {
    const request = readResponseRequest(readJsonBody(body, limits.jsonDepthMax), limits)
    return { request, prompt: (imageTokens) => promptTexts(request.forward, imageTokens) }
  }
  return {
    request: await thread.run('chat', { surface: 'responses', answers: true }),
    prompt: (imageTokens) => thread.run('prompt', { surface: 'responses', imageTokens }),
  }
}
