// Imported before anything that reads the limits.
process.env['SLUICE_LIMITS'] = JSON.stringify({ batchCallPaceMs: 1 })
