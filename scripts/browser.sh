#!/bin/sh
# Put a headless Chromium into .venv/browser: that of npm's @sparticuz/chromium, which needs no installed libraries.
set -eu

version=153.0.0
target=$PWD/.venv/browser

rm -rf "$target"
mkdir -p "$target/npm" "$target/lib"
npm install --prefix "$target/npm" --no-save --ignore-scripts --no-audit --no-fund --omit=dev --loglevel=error \
    "@sparticuz/chromium@$version"
parts=$target/npm/node_modules/@sparticuz/chromium/bin

# node is there wherever npm is, and knows Brotli.
unpack() {
    node -e 'const { createReadStream: from, createWriteStream: to } = require("fs");
        require("stream").pipeline(from(process.argv[1]), require("zlib").createBrotliDecompress(),
            to(process.argv[2]), (error) => { if (error) throw error; });' "$1" "$2"
}

unpack "$parts/chromium.br" "$target/chromium"
chmod +x "$target/chromium"
for part in swiftshader al2023 fonts; do
    unpack "$parts/$part.tar.br" "$target/$part.tar"
    tar -xf "$target/$part.tar" -C "$target"
    rm "$target/$part.tar"
done
rm -rf "$target/npm"
cat >"$target/fonts/fonts.conf" <<END
<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>$target/fonts</dir><cachedir>$target/fonts/cache</cachedir></fontconfig>
END
echo "installed @sparticuz/chromium $version"
