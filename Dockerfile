FROM node:20-slim
ENV NODE_ENV=production NPM_CONFIG_UPDATE_NOTIFIER=false
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --no-audit --no-fund && npm cache clean --force
COPY tsconfig.json ./
COPY streams streams
COPY projections projections
COPY src src
COPY scripts scripts
USER node
EXPOSE 8080 2525
CMD ["node", "--import", "tsx", "src/main.ts"]
