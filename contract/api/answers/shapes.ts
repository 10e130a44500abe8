import type { JsonSchema } from '../route.ts'
import { ACCOUNT_SHAPES } from './accountShapes.ts'
import { AGENT_SHAPES } from './agentShapes.ts'
import { CATALOG_SHAPES } from './catalogShapes.ts'
import { CHAIN_SHAPES } from './chainShapes.ts'
import { HOLDER_SHAPES } from './holderShapes.ts'
import { LOCK_SHAPES } from './lockShapes.ts'
import { MODEL_SHAPES } from './modelShapes.ts'
import { MONEY_SHAPES } from './moneyShapes.ts'
import { PRIVACY_SHAPES } from './privacyShapes.ts'
import { PROVIDER_SHAPES } from './providerShapes.ts'
import { PUBLIC_SHAPES } from './publicShapes.ts'
import { QUOTE_SHAPES } from './quoteShapes.ts'
import { RESERVE_SHAPES } from './reserveShapes.ts'

const SHAPES = {
  ...MONEY_SHAPES,
  ...LOCK_SHAPES,
  ...MODEL_SHAPES,
  ...CATALOG_SHAPES,
  ...ACCOUNT_SHAPES,
  ...AGENT_SHAPES,
  ...CHAIN_SHAPES,
  ...PROVIDER_SHAPES,
  ...HOLDER_SHAPES,
  ...PRIVACY_SHAPES,
  ...PUBLIC_SHAPES,
  ...RESERVE_SHAPES,
  ...QUOTE_SHAPES,
}

/** The name of a shape among the schemas of the OpenAPI document. */
export type ShapeName = keyof typeof SHAPES

/** Everything that is answered as JSON, by the names that generated clients give it. */
export const ANSWER_SHAPES: Readonly<Record<ShapeName, JsonSchema>> = SHAPES

/** The shapes of a route's answers by HTTP status; of several, the answer has one. */
export type Answers = Readonly<Record<number, ShapeName | readonly ShapeName[]>>
