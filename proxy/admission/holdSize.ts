import {
  affordableTokens,
  type ModelRates,
  type RateSet,
  rateSetFor,
  worstCaseUnits,
} from '../../contract/money/charge.ts'

const TOKENS_PER_MESSAGE = 8
const TOKENS_PER_REQUEST = 16
const BYTES_PER_TOKEN = 2

/** The parts of a prompt that determine its price. */
export interface PromptSize {
  /** UTF-8 bytes of everything the model reads: text, tool definitions, tool-call arguments, schemas. */
  textBytes: number
  messages: number
  images: number
  /** PDFs, which only some models take; absent is 0. */
  pdfs?: number
  /** The field of the first PDF that is not part of a history; absent for none. */
  newPdf?: string
  /** Tool definitions; absent is 0. */
  tools?: number
  /** An image is an address that the provider fetches; absent is false. */
  linkedImages?: boolean
  /**
   * The field of the first image at an address that is not https on the public internet; absent when there is no such image.
   */
  privateImage?: string
  /** A text is forwarded in another form than it was sent in, so not as its original bytes; absent is false. */
  rewritten?: boolean
  /** The input of a call has numbers that lost digits when the body was parsed; absent is false. */
  rounded?: boolean
  /** A tool call has the member that only some providers take back; absent is false. */
  callMembers?: boolean
  /** A message has reasoning that only some providers take back, under `KEPT_REASONING`; absent is false. */
  keptReasoning?: boolean
  /** Marks of data, such as images, that is forwarded without being read; absent for none. */
  dataMarks?: Set<string>
  /** UTF-8 bytes of options that are not part of the prompt, but that a provider might add to it; absent is 0. */
  optionBytes?: number
}

/** Whether a prompt has parts of which the provider decides how many tokens they are. */
export function hasMedia(size: PromptSize): boolean {
  return mediaCount(size) > 0
}

/** How many such parts it has. An estimate takes each for an image, since a page is read as one. */
export function mediaCount({ images, pdfs = 0 }: PromptSize): number {
  return images + pdfs
}

/** The worst case of a request in units, and the values it is computed from. Prices are units per million tokens. */
export interface HoldSize {
  readonly promptTokens: number
  readonly promptPrice: number
  readonly outputTokens: number
  readonly outputPrice: number
  /** Covers the prompt and `outputTokens`. */
  readonly wantUnits: number
  /** The least that makes sense: with an open output budget the prompt and one token, else `wantUnits`. */
  readonly leastUnits: number
}

/**
 * Prompt tokens at most: two bytes a token, or one where long-context rates could hold, so that the hold never lands in
 * a cheaper tier than the charge; eight a message, sixteen a request, and the model's allowances for each image, for PDFs
 * and for the prompt that a provider adds to tools.
 */
export function promptTokensMax(
  size: PromptSize,
  rates: ModelRates,
  imageTokens: number,
  toolTokens = 0,
  pdfTokens = 0,
): number {
  const bytes = size.textBytes + (size.optionBytes ?? 0)
  const textTokens = rates.longThreshold > 0 ? bytes : Math.ceil(bytes / BYTES_PER_TOKEN)
  const allowances =
    size.images * imageTokens + ((size.tools ?? 0) > 0 ? toolTokens : 0) + ((size.pdfs ?? 0) > 0 ? pdfTokens : 0)
  return textTokens + size.messages * TOKENS_PER_MESSAGE + TOKENS_PER_REQUEST + allowances
}

/**
 * The rates that a request is held at. The provider decides how many tokens images and PDFs count for, so with them the
 * prompt may be on either side of the long-context threshold: then each price is the higher one of both sets.
 */
export function holdRates(rates: ModelRates, promptTokens: number, isMixed: boolean): RateSet {
  if (!isMixed || rates.longThreshold === 0) return rateSetFor(rates, promptTokens)
  const { long } = rates
  return {
    input: Math.max(rates.input, long.input),
    output: Math.max(rates.output, long.output),
    cachedInput: Math.max(rates.cachedInput, long.cachedInput),
    cacheWrite5m: Math.max(rates.cacheWrite5m, long.cacheWrite5m),
    cacheWrite1h: Math.max(rates.cacheWrite1h, long.cacheWrite1h),
  }
}

/**
 * Sizes the hold of a chat request.
 * @param set from holdRates
 * @param promptTokens from promptTokensMax
 * @param outputTokens max_tokens, or the model's default output budget
 * @param shrinks whether the client left the output open, so that the hold may shrink to the balance
 */
export function sizeHold(set: RateSet, promptTokens: number, outputTokens: number, shrinks: boolean): HoldSize {
  const promptPrice = dearestInput(set)
  const wantUnits = worstCaseUnits(promptTokens, promptPrice, outputTokens, set.output)
  const leastUnits = shrinks
    ? worstCaseUnits(promptTokens, promptPrice, Math.min(1, outputTokens), set.output)
    : wantUnits
  return { promptTokens, promptPrice, outputTokens, outputPrice: set.output, wantUnits, leastUnits }
}

/** The output tokens that a granted hold pays for, at most those it was sized for. */
export function grantedOutputTokens(size: HoldSize, heldUnits: number): number {
  if (heldUnits >= size.wantUnits) return size.outputTokens
  return Math.min(size.outputTokens, affordableTokens(heldUnits, size.promptTokens, size.promptPrice, size.outputPrice))
}

// The provider alone decides which prompt tokens it bills as cache writes, so the hold covers the dearest class.
function dearestInput(set: RateSet): number {
  return Math.max(set.input, set.cachedInput, set.cacheWrite5m, set.cacheWrite1h)
}
