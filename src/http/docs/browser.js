// Runs in the reader's browser with Swagger UI; both are served by this process, and nothing is loaded from other hosts.

/** Shows an operation's x-codeSamples above its responses. */
const codeSamples = ({ React, specSelectors }) => {
  const element = React.createElement;
  const samplesOf = ({ path, method }) =>
    specSelectors.specJson().getIn(["paths", path, method, "x-codeSamples"])?.toJS() ?? [];
  const shown = ({ label, source }) =>
    element(
      "details",
      { key: label, name: "sample", className: "sample" },
      element("summary", null, label),
      element("pre", null, element("code", null, source)),
    );
  return {
    wrapComponents: {
      responses: (Original) => (props) =>
        element(
          "div",
          null,
          element(
            "section",
            { className: "samples", "aria-label": "Examples" },
            element("h4", null, "Examples"),
            samplesOf(props).map(shown),
          ),
          element(Original, props),
        ),
    },
  };
};

window.SwaggerUIBundle({
  dom_id: "#docs",
  url: "/openapi.json",
  presets: [window.SwaggerUIBundle.presets.apis],
  plugins: [codeSamples],
  layout: "BaseLayout",
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
  // What is tried out here is asked of the service that served this page, by whichever name it was reached.
  requestInterceptor: (request) => {
    const { pathname, search } = new URL(request.url, window.location.origin);
    request.url = window.location.origin + pathname + search;
    return request;
  },
});
