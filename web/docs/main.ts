import { createApiReference } from "@scalar/api-reference";
import "@scalar/api-reference/style.css";

createApiReference("#reference", {
  url: "/openapi.json",
  metaData: { title: "Gatewright API" },
  // Nothing on this page may call out: no fonts, telemetry, proxies, hosted clients or assistants.
  withDefaultFonts: false,
  telemetry: false,
  proxyUrl: "",
  hideClientButton: true,
  showDeveloperTools: "never",
  // "Models" are something else here.
  modelsSectionLabel: "Schemas",
  agent: { disabled: true },
  mcp: { disabled: true },
});
