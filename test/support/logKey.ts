/** SLUICE_CATALOG_KEY of every stack that tests start. */
export const TEST_CATALOG_KEY = `0x${'c0'.repeat(32)}`
/** SLUICE_LOG_KEY of every stack that tests start. */
export const TEST_LOG_KEY = 'PRIVATE+KEY+test.example.com/v1/log+12e883ae+ATAQZmwBNw8TF3XXpKNNLP0tB6CH3yeGaVK/PlOlhVre'
/** What its signatures are checked with. */
export const TEST_LOG_VERIFIER = 'test.example.com/v1/log+12e883ae+AQcFIrFWFao8ganyVrQjSfYpCH1+LwJ4fImSbpq1Kl5K'
