#!/usr/bin/env node
const readline = require('readline');

class WeatherPlugin {
  metadata() {
    return {
      name: "weather",
      description: "天气查询插件",
      version: "1.0.0",
      commands: [
        { name: "weather", description: "查询天气", aliases: [] }
      ]
    };
  }

  matches(params) {
    return { matches: params.text.startsWith("/weather") };
  }

  handle(params) {
    const city = params.text.replace("/weather", "").trim();
    return {
      handled: true,
      block: true,
      reply: `${city}天气：晴，25°C`
    };
  }

  lifecycle(params) {
    if (params.event.startup !== undefined) {
      console.error("Plugin started!");
    } else if (params.event.shutdown !== undefined) {
      console.error("Plugin shutting down!");
    }
    return { ok: true };
  }
}

const plugin = new WeatherPlugin();
const rl = readline.createInterface({
  input: process.stdin,
  output: process.stdout,
  terminal: false
});

rl.on('line', (line) => {
  try {
    const req = JSON.parse(line);
    let result;

    switch (req.method) {
      case "metadata":
        result = plugin.metadata();
        break;
      case "matches":
        result = plugin.matches(req.params || {});
        break;
      case "handle":
        result = plugin.handle(req.params || {});
        break;
      case "lifecycle":
        result = plugin.lifecycle(req.params || {});
        break;
      default:
        result = null;
    }

    const response = {
      jsonrpc: "2.0",
      result: result,
      id: req.id
    };
    console.log(JSON.stringify(response));
  } catch (e) {
    const errorResponse = {
      jsonrpc: "2.0",
      error: {
        code: -32603,
        message: e.message
      },
      id: req.id || 0
    };
    console.log(JSON.stringify(errorResponse));
  }
});
