// Azurite, a server of Azure Blob Storage, on loopback: `node azurite.js AZURITE_BLOB CONTAINER`. Creates the container,
// prints the port, and ends with standard input.
const { spawn } = require("child_process");
const { createHmac } = require("crypto");
const { request } = require("http");

const [program, container] = process.argv.slice(2);
const account = "devstoreaccount1";
const key = process.env.AZURE_STORAGE_ACCOUNT_KEY;
const server = spawn(process.execPath, [program, "--blobPort", "0", "--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry"]);

function create(port) {
  const [date, version] = [new Date().toUTCString(), "2021-08-06"];
  const path = `/${account}/${container}`;
  // A signed request, with no header but these two.
  const signed = ["PUT", ...Array(11).fill(""), `x-ms-date:${date}`, `x-ms-version:${version}`, `/${account}${path}`, "restype:container"];
  const signature = createHmac("sha256", Buffer.from(key, "base64")).update(signed.join("\n")).digest("base64");
  const headers = { "x-ms-date": date, "x-ms-version": version, "Content-Length": 0, Authorization: `SharedKey ${account}:${signature}` };
  const asked = request({ host: "127.0.0.1", port, method: "PUT", path: `${path}?restype=container`, headers }, (answer) => {
    answer.resume();
    console.log(answer.statusCode === 201 ? port : `the container was not created: ${answer.statusCode}`);
  });
  asked.end();
}

let said = "";
server.stdout.on("data", (text) => {
  const before = said.includes("successfully listens");
  said += text;
  const found = said.match(/successfully listens on http:\/\/127\.0\.0\.1:(\d+)/);
  if (found && !before) create(Number(found[1]));
});
server.on("exit", () => process.exit());
process.stdin.resume();
process.stdin.on("end", () => server.kill());
