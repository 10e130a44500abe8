import type { RequestForm } from '../../../contract/catalog/requestForm.ts'
import type { RequestPart } from '../../../contract/providers/requestPart.ts'
import type { TextSample } from '../../../workers/textSample.ts'
import type { Model } from '../../catalog/catalog.ts'
import type { Provider, Route } from '../../catalog/pricedItem.ts'
import type { ChatRequest } from '../../dialects/shared/chatRequest.ts'
import type { AskModel, ChatCodec, CutRequest, Printed, SurfaceName } from '../../dialects/shared/codec.ts'
import type { LargeBody } from '../largeBodies/largeBodies.ts'
import { promptTexts } from '../tokens/promptTexts.ts'
import type { SmallBody } from './smallBody.ts'

/** The texts of a prompt, and the tokens that are not in them. */
export interface Prompt {
  readonly text: string | TextSample
  readonly extraTokens: number
}

/** The parts that are left out of a request of which none was refused. */
export const WHOLE: readonly RequestPart[] = []

/** A model and the routes over which it may be asked. */
export interface RoutedModel {
  readonly model: Model
  readonly routes: readonly Route[]
}

/** The parts of a chat request for providers and for the tokenizer. */
export interface ChatSource {
  /** Whether the request is written when a provider is asked, and not before. */
  readonly writesLate: boolean
  /**
   * Has the request written for all providers of a model.
   * @param leavesOut the parts that one of them has refused
   * @returns undefined where nothing is to be waited for
   */
  prepare(asked: RoutedModel, leavesOut?: readonly RequestPart[]): Promise<void> | undefined
  /** The request as providers of a dialect read it, after `prepare` for its model. */
  print(provider: Provider, codec: ChatCodec, model: Model, leavesOut?: readonly RequestPart[]): Printed
  /** @param imageTokens tokens that an image counts as */
  prompt(imageTokens: number): Prompt | Promise<Prompt>
}

/** A request that was read on the event loop. */
export class SmallSource implements ChatSource {
  readonly writesLate = true
  private readonly request: ChatRequest
  /** Until the first provider is asked: it holds the whole body, which translations have no use for. */
  private cut: CutRequest | null
  /** Puts back the data that the request was read without; null where it was read whole. */
  private readonly data: CutRequest | null

  constructor({ request, cut, data }: SmallBody) {
    this.request = request
    this.cut = cut
    this.data = data
  }

  prepare(): undefined {
    return undefined
  }

  print({ form }: Provider, codec: ChatCodec, model: Model, leavesOut?: readonly RequestPart[]): Printed {
    const { data } = this
    const cut = this.cut ?? data
    this.cut = null
    const printed = codec.print(this.request, askModel(model, form, leavesOut), cut)
    return data === null ? printed : { cut: data, ...printed }
  }

  prompt(imageTokens: number): Prompt {
    return promptTexts(this.request.forward, imageTokens)
  }
}

/** A request that another thread has read, and writes for the providers that are asked. */
export class LargeSource implements ChatSource {
  readonly writesLate = false
  private readonly body: LargeBody
  private readonly surface: SurfaceName
  /** By printKey. */
  private readonly printed = new Map<string, Printed>()

  constructor(body: LargeBody, surface: SurfaceName) {
    this.body = body
    this.surface = surface
  }

  prepare({ model, routes }: RoutedModel, leavesOut?: readonly RequestPart[]): Promise<void> | undefined {
    const missing = new Map(
      routes
        .map(({ provider }) => [printKey(provider, model, leavesOut), provider] as const)
        .filter(([key]) => !this.printed.has(key)),
    )
    return missing.size === 0 ? undefined : this.write(missing, askModel(model, null, leavesOut))
  }

  private async write(providers: ReadonlyMap<string, Provider>, model: AskModel): Promise<void> {
    const { body, surface, printed } = this
    for (const [key, { dialect, form }] of providers) {
      printed.set(key, await body.run('print', { surface, dialect, model: { ...model, form } }))
    }
  }

  print(provider: Provider, _codec: ChatCodec, model: Model, leavesOut?: readonly RequestPart[]): Printed {
    const printed = this.printed.get(printKey(provider, model, leavesOut))
    if (printed === undefined) throw new Error(`the request was not written for ${provider.id}`)
    return printed
  }

  prompt(imageTokens: number): Promise<Prompt> {
    return this.body.run('prompt', { surface: this.surface, imageTokens })
  }
}

/** The properties of a model that another thread needs. */
export function askModel(
  { thinking, pricesHour, maxOutput, pdfTokens }: Model,
  form: RequestForm | null = null,
  leavesOut: readonly RequestPart[] = WHOLE,
): AskModel {
  return { thinking, pricesHour, maxOutput, pdfTokens, form, leavesOut }
}

/** Providers with the same key get the same requests, but for the model's name and the output limit. */
export function formKey({ id, dialect, form }: Provider): string {
  return form === null ? dialect : `${dialect} ${id}`
}

function printKey(provider: Provider, { id }: Model, leavesOut: readonly RequestPart[] = WHOLE): string {
  return `${id} ${formKey(provider)} ${leavesOut.join()}`
}
