// Control without one product, which the environment names.
import { PRODUCTS } from '../../control/service/products.ts'
import { runControl } from '../../control/service/program.ts'
import { WITHOUT_VARIABLE } from './warm/withoutVariable.ts'

await runControl(PRODUCTS.filter(({ name }) => name !== process.env[WITHOUT_VARIABLE]))
