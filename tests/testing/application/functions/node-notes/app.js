// Writes a note into a table, and tells another system: each once, or in each attempt anew, as the payload says.
const { randomUUID } = require('node:crypto')

async function note(key) {
  const headers = {
    'X-Amz-Target': 'DynamoDB_20120810.PutItem',
    'Content-Type': 'application/x-amz-json-1.0',
    'X-Amz-Security-Token': process.env.AWS_SESSION_TOKEN,
    Authorization: `AWS4-HMAC-SHA256 Credential=${process.env.AWS_ACCESS_KEY_ID}/20300101/us-east-1/dynamodb/aws4_request`,
  }
  const body = JSON.stringify({ TableName: process.env.NOTES_TABLE, Item: { note: { S: key } } })
  const answer = await fetch(process.env.AWS_ENDPOINT_URL, { method: 'POST', headers, body })
  if (!answer.ok) throw new Error(await answer.text())
}

exports.handler = async ({ payload }) => {
  if (payload.note) await note(payload.note === 'another' ? randomUUID() : payload.note)
  if (payload.url) await fetch(payload.url, { method: payload.method, body: '{"to": "a"}' })
  return 'noted'
}
