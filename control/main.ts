import '../contract/std/mendedJson.ts'
import { PRODUCTS } from './service/products.ts'
import { runControl } from './service/program.ts'

await runControl(PRODUCTS)
