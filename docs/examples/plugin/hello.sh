wakeful plugin new hello
python -m pip install -e './wakeful-hello[test]'
python -m pytest ./wakeful-hello
wakeful run hello "Greet Ada" --file ./wakeful-hello/wakeful.toml
